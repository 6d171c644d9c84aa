%% Drives the process that `causal:start/3` spawns, by the messages {send, _} and {multicast, _, _, _} of its workers and peers.
-module(adapter).
-export([start/0]).

start() ->
    io:setopts([binary]),
    loop(none).

loop(Node) ->
    case io:get_line("") of
        eof -> halt();
        Line -> loop(answer(binary:split(string:trim(Line), <<" ">>, [global]), Node))
    end.

%% Their process has this one as its master, and for each peer a process that passes its messages on to this one.
answer([<<"init">>, Me, N], Old) ->
    Old =:= none orelse lists:foreach(fun(P) -> exit(P, kill) end, element(2, Old)),
    Self = self(),
    Process = causal:start(binary_to_integer(Me) + 1, Self, 0),
    Peers = [spawn_link(fun() -> unlink(Self), pass_on(K, Self) end) || K <- lists:seq(0, binary_to_integer(N) - 1)],
    {Before, [_ | After]} = lists:split(binary_to_integer(Me), Peers),
    Process ! {peers, Before ++ [Process | After]},
    ok({Process, [Process | Peers]});
answer([<<"send">>, _, Message], {Process, _} = Node) ->
    Process ! {send, Message},
    ok(Node);
answer([<<"packet">>, _, Body], {Process, _} = Node) ->
    Process ! binary_to_term(base64:decode(Body)),
    ok(Node).

pass_on(K, Self) ->
    receive
        {barrier, From} -> From ! done;
        Message -> Self ! {transmit, K, Message}
    end,
    pass_on(K, Self).

ok({Process, [_ | Peers]} = Node) ->
    idle(Process),
    [begin P ! {barrier, self()}, receive done -> ok end end || P <- Peers],
    outputs(),
    io:put_chars("ok\n"),
    Node.

idle(Process) ->
    [{_, Waiting}, {_, Status}] = process_info(Process, [message_queue_len, status]),
    {Waiting, Status} =:= {0, waiting} orelse begin erlang:yield(), idle(Process) end.

outputs() ->
    receive
        {deliver, Message} -> io:put_chars(["deliver ", Message, "\n"]), outputs();
        {transmit, K, Message} ->
            io:put_chars(["packet ", integer_to_list(K), " ", base64:encode(term_to_binary(Message)), "\n"]),
            outputs()
    after 0 -> ok
    end.
