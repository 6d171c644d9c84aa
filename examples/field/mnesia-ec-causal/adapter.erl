%% Drives the gen_server mnesia_causal as mnesia_ec does: send_msg/0 and deliver_one/1 on sending, rcv_msg/4 on receiving.
-module(adapter).
-export([start/0]).
-include("mnesia.hrl").

start() ->
    io:setopts([binary]),
    loop().

loop() ->
    case io:get_line("") of
        eof -> halt();
        Line -> answer(binary:split(string:trim(Line), <<" ">>, [global])), io:put_chars("ok\n"), loop()
    end.

answer([<<"init">>, Me, N]) ->
    whereis(mnesia_causal) =/= undefined andalso gen_server:stop(mnesia_causal),
    net_kernel:stop(),
    {ok, _} = net_kernel:start(binary_to_atom(<<"p", Me/binary>>), #{name_domain => shortnames, dist_listen => false}),
    [_, Host] = string:split(atom_to_list(node()), "@"),
    Numbers = lists:seq(0, binary_to_integer(N) - 1),
    put(others, [integer_to_list(K) || K <- Numbers, K =/= binary_to_integer(Me)]),
    {ok, _} = mnesia_causal:start(),
    ok = mnesia_causal:reset_with_nodes([list_to_atom("p" ++ integer_to_list(K) ++ "@" ++ Host) || K <- Numbers]);
answer([<<"send">>, _, Message]) ->
    Commit = #commit{ts = mnesia_causal:send_msg(), ram_copies = [Message]},
    Body = base64:encode(term_to_binary(Commit, [deterministic])),
    [io:put_chars(["packet ", K, " ", Body, "\n"]) || K <- get(others)],
    mnesia_causal:deliver_one(Commit),
    deliver(Commit);
answer([<<"packet">>, _, Body]) ->
    ok = mnesia_causal:rcv_msg(tid, binary_to_term(base64:decode(Body)), tab, {async, self()}),
    %% mnesia_ec commits those of the list one after the other
    receive {mnesia_causal, {deliver, Commits}} -> [deliver(Commit) || {tid, Commit, tab} <- Commits] end.

deliver(#commit{ram_copies = [Message]}) ->
    io:put_chars(["deliver ", Message, "\n"]).
