%% Drives Heimdall's causal_broadcast, with the reliable and the best-effort broadcast below it: broadcast/2 and {deliver, _}.
-module(adapter).
-export([start/0]).

start() ->
    io:setopts([binary]),
    {ok, _} = gen_event:start({local, om}),
    loop().

loop() ->
    case io:get_line("") of
        eof -> halt();
        Line -> answer(binary:split(string:trim(Line), <<" ">>, [global])), io:put_chars("ok\n"), loop()
    end.

answer([<<"init">>, Me, N]) ->
    [exit(P, kill) || P <- case get(all) of undefined -> []; Ps -> unlink(hd(Ps)), Ps end],
    Self = self(),
    Link = spawn(fun() -> link_layer(Self, lists:seq(0, binary_to_integer(N) - 1) -- [binary_to_integer(Me)], none) end),
    {ok, Causal} = causal_broadcast:start_link(Link, "bc" ++ binary_to_list(Me), Self),
    Reliable = element(2, sys:get_state(Causal)),
    put(all, [Causal, Reliable, element(2, sys:get_state(Reliable)), Link]);
answer([<<"send">>, _, Message]) ->
    causal_broadcast:broadcast(hd(get(all)), Message),
    outputs();
answer([<<"packet">>, _, Body]) ->
    lists:nth(3, get(all)) ! binary_to_term(base64:decode(Body)),
    outputs().

%% In place of their link layers: the nodes are this one and the numbers of the others.
link_layer(Self, Others, Node) ->
    receive
        {'$gen_call', From, {register, _, Pid}} ->
            gen_server:reply(From, ok),
            link_layer(Self, Others, Pid);
        {'$gen_call', From, all_nodes} ->
            gen_server:reply(From, {ok, [Node | Others]});
        {'$gen_call', From, {send, Data, _, To}} ->
            Self ! {transmit, To, Data},
            gen_server:reply(From, ok)
    end,
    link_layer(Self, Others, Node).

%% Each layer has handled what the one below sent it.
outputs() ->
    [Causal, Reliable, Best | _] = get(all),
    [sys:get_state(P) || P <- [Best, Reliable, Best, Reliable, Causal]],
    written().

written() ->
    receive
        {transmit, To, Data} ->
            io:put_chars(["packet ", integer_to_list(To), " ", base64:encode(term_to_binary(Data, [deterministic])), "\n"]),
            written();
        {deliver, Message} -> io:put_chars(["deliver ", Message, "\n"]), written()
    after 0 -> ok
    end.
