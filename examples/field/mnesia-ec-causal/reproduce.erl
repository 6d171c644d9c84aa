#!/usr/bin/env escript
%% Two nodes' mnesia_causal, one after the other: escript reproduce.erl FOLDER_OF_THEIR_BEAM_FILE
%% The second node receives the second message first, then the first one.

main([Folder]) ->
    code:add_patha(Folder),
    at(node1),
    [First, Second] = [{commit, undefined, undefined, [M], [], [], [], [], mnesia_causal:send_msg()} || M <- [m1, m2]],
    at(node2),
    [] = receive_message(Second),
    io:format("node2 receives m2 and then m1; it is given ~p~n", [receive_message(First)]).

at(Node) ->
    whereis(mnesia_causal) =/= undefined andalso gen_server:stop(mnesia_causal),
    net_kernel:stop(),
    {ok, _} = net_kernel:start(Node, #{name_domain => shortnames, dist_listen => false}),
    {ok, _} = mnesia_causal:start(),
    [_, Host] = string:split(atom_to_list(node()), "@"),
    mnesia_causal:reset_with_nodes([list_to_atom(Name ++ "@" ++ Host) || Name <- ["node1", "node2"]]).

receive_message(Commit) ->
    ok = mnesia_causal:rcv_msg(tid, Commit, tab, {async, self()}),
    receive {mnesia_causal, {deliver, Commits}} -> [hd(element(4, C)) || {tid, C, tab} <- Commits] end.
