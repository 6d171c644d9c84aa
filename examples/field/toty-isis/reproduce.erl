#!/usr/bin/env escript
%% Three of their managers, and this program between them: escript reproduce.erl FOLDER_OF_THEIR_BEAM_FILES
%% The request of m1 from manager 3 reaches manager 1 only after all have agreed on m2, of manager 2.

main([Folder]) ->
    code:add_patha(Folder),
    Self = self(),
    Managers = [toty:init(Id, 1) || Id <- [1, 2, 3]],
    Gates = [forwarder({to, Id}, Self) || Id <- [1, 2, 3]],
    [M ! {start, forwarder({worker, Id}, Self), Gates, show} || {Id, M} <- lists:zip([1, 2, 3], Managers)],
    lists:nth(3, Managers) ! {send, {m1, 0}},
    request(m1, 3, Managers),
    lists:nth(2, Managers) ! {send, {m2, 0}},
    [request(m2, Id, Managers) || Id <- [2, 3, 1]],
    [agreed(Id, Managers) || Id <- [1, 2, 3]],
    [request(m1, Id, Managers) || Id <- [2, 1]],
    [agreed(Id, Managers) || Id <- [1, 2, 3]],
    [io:format("worker ~p is given ~p~n", [Id, [receive {{worker, Id}, {M, 0, show}} -> M end || _ <- [1, 2]]]) || Id <- [1, 2, 3]].

%% A process that passes on to this program what it is sent.
forwarder(Name, Self) -> spawn(fun() -> forward(Name, Self) end).
forward(Name, Self) -> receive Message -> Self ! {Name, Message} end, forward(Name, Self).

%% Let one message through to manager Id, which then has the time to handle it.
request(M, Id, Managers) -> receive {{to, Id}, {request, _, _, {M, 0}} = Message} -> pass(Id, Message, Managers) end.
agreed(Id, Managers) -> receive {{to, Id}, {agreed, _, _} = Message} -> pass(Id, Message, Managers) end.
pass(Id, Message, Managers) -> lists:nth(Id, Managers) ! Message, timer:sleep(20).
