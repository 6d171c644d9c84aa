%% Drives camus: cbcast/2 and handle/2 as its test suite does, and the gen_server camus_middleware on receiving.
-module(adapter).
-export([start/0]).

start() ->
    io:setopts([binary]),
    loop(none).

loop(State) ->
    case io:get_line("") of
        eof -> halt();
        Line -> loop(input(binary:split(string:trim(Line), <<" ">>, [global]), State))
    end.

%% The state is that of the application, as camus asks it to keep.
input([<<"init">>, Me, N], _) ->
    whereis(camus_middleware) =/= undefined andalso gen_server:stop(camus_middleware),
    net_kernel:stop(),
    {ok, _} = net_kernel:start(binary_to_atom(<<"p", Me/binary>>), #{name_domain => shortnames, dist_listen => false}),
    [_, Host] = string:split(atom_to_list(node()), "@"),
    Self = self(),
    Nodes = [{K, list_to_atom("p" ++ integer_to_list(K) ++ "@" ++ Host)} || K <- lists:seq(0, binary_to_integer(N) - 1)],
    put(connections, [connection(camus_util:connection_name(Node), K, Self) || {K, Node} <- Nodes]),
    put(replies, []),
    {ok, _} = camus_middleware:start_link(),
    camus:setmembership([Node || {_, Node} <- Nodes]),
    camus:setnotifyfun(fun(Delivered) -> Self ! Delivered end),
    answered("ok replies\n", {dot:new_dot(node()), context:new()});
input([<<"reply">>, _, Message], State) -> put(replies, get(replies) ++ [Message]), State;
input([<<"send">>, _, Message], State) -> answered("ok\n", cbcast(Message, State));
input([<<"packet">>, _, Body], State) ->
    gen_server:cast(camus_middleware, binary_to_term(base64:decode(Body))),
    answered("ok\n", State).

%% The connections of camus to its peers are processes with names. Here they pass on what would be sent, when asked to.
connection(Name, K, Self) ->
    whereis(Name) =/= undefined andalso unregister(Name),
    register(Name, spawn(fun() -> pass_on(K, Self) end)),
    Name.
pass_on(K, Self) -> receive flush -> flush(K), Self ! flushed end, pass_on(K, Self).
flush(K) -> receive {'$gen_cast', {_, _, M, 0}} -> io:put_chars(["packet ", integer_to_list(K), " ", base64:encode(term_to_binary(M, [deterministic])), "\n"]), flush(K) after 0 -> ok end.

answered(End, State) ->
    sys:get_state(camus_middleware),
    Next = deliveries(State),
    [begin C ! flush, receive flushed -> ok end end || C <- get(connections)],
    io:put_chars(End),
    Next.
deliveries(State) ->
    receive {camus, Event} -> {deliver, {Text, _}, Next} = camus:handle(Event, State), deliveries(delivered(Text, Next)) after 0 -> State end.
delivered(Text, State) ->
    io:put_chars(["deliver ", Text, "\n"]),
    case get(replies) of [Reply | Rest] -> put(replies, Rest), cbcast(Reply, State); [] -> State end.
cbcast(Message, State) -> delivered(Message, camus:cbcast(Message, State)).
