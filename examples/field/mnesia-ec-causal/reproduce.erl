#!/usr/bin/env escript
%% Three nodes' mnesia_causal, one after the other: escript reproduce.erl FOLDER_OF_THEIR_BEAM_FILE
%% node1 sends m1; node2 receives it and sends m2; node3 receives m2 first, then m1.

main([Folder]) ->
    code:add_patha(Folder),
    at(node1),
    First = commit(m1),
    at(node2),
    [m1] = receive_message(First),
    Second = commit(m2),
    at(node3),
    [] = receive_message(Second),
    io:format("node3 receives m2, of node2, and then m1, of node1, on which m2 depends; it is given ~p~n",
              [receive_message(First)]).

commit(Message) -> {commit, undefined, undefined, [Message], [], [], [], [], mnesia_causal:send_msg()}.

at(Node) ->
    whereis(mnesia_causal) =/= undefined andalso gen_server:stop(mnesia_causal),
    net_kernel:stop(),
    {ok, _} = net_kernel:start(Node, #{name_domain => shortnames, dist_listen => false}),
    {ok, _} = mnesia_causal:start(),
    [_, Host] = string:split(atom_to_list(node()), "@"),
    mnesia_causal:reset_with_nodes([list_to_atom(Name ++ "@" ++ Host) || Name <- ["node1", "node2", "node3"]]).

receive_message(Commit) ->
    ok = mnesia_causal:rcv_msg(tid, Commit, tab, {async, self()}),
    receive {mnesia_causal, {deliver, Commits}} -> [hd(element(4, C)) || {tid, C, tab} <- Commits] end.
