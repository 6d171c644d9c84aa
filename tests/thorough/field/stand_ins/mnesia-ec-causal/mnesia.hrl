%% A stand-in: the record of a commit.
-record(commit, {ram_copies = [], ts}).
