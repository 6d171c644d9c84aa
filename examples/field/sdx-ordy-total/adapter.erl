%% Drives the process that `total:start/3` spawns, by {send, _} of its worker and {request, …}, {proposal, …}, {agreed, …} of peers.
-module(adapter).
-export([start/0]).

start() -> io:setopts([binary]), loop().

loop() ->
    case io:get_line("") of
        eof -> halt();
        Line -> answer(binary:split(string:trim(Line), <<" ">>, [global])), io:put_chars("ok\n"), loop()
    end.

%% This process is the master of theirs. For each node, theirs included, a process passes messages of theirs on to this one.
answer([<<"init">>, Me, N]) ->
    [exit(P, kill) || Ps <- [get(all)], is_list(Ps), P <- Ps],
    erase(),
    Self = self(),
    Peers = [spawn(fun() -> pass_on(K, Self) end) || K <- lists:seq(0, binary_to_integer(N) - 1)],
    Process = total:start(binary_to_integer(Me) + 1, Self, 1),
    [put(Key, Value) || {Key, Value} <- [{all, [Process | Peers]}, {me, binary_to_integer(Me)}, {refs, 0}]],
    Process ! {peers, Peers};
answer([<<"send">>, _, Message]) -> input({send, Message});
answer([<<"packet">>, _, Body]) -> input(local(binary_to_term(base64:decode(Body)))).

pass_on(K, Self) ->
    receive {barrier, From} -> From ! done; Message -> Self ! {transmit, K, Message} end,
    pass_on(K, Self).

%% One message to theirs, whose timers send a request to each node, or one proposal: so many outputs are awaited.
input(Message) ->
    [Process | Peers] = get(all),
    Process ! Message,
    Timed = case Message of {send, _} -> length(Peers); {request, _, _, _} -> 1; _ -> 0 end,
    First = [receive {transmit, K, M} -> {K, M} end || _ <- lists:seq(1, Timed)],
    idle(Process),
    [begin P ! {barrier, self()}, receive done -> ok end end || P <- Peers],
    Sent = lists:keysort(1, First ++ transmitted()),
    [io:put_chars(["packet ", integer_to_list(K), " ", base64:encode(term_to_binary(wire(M))), "\n"]) || {K, M} <- Sent, K =/= get(me)],
    deliveries(),
    [input(local(M)) || {K, M} <- Sent, K =:= get(me)].

transmitted() -> receive {transmit, K, Message} -> [{K, Message} | transmitted()] after 0 -> [] end.
deliveries() -> receive {deliver, Message} -> io:put_chars(["deliver ", Message, "\n"]), deliveries() after 0 -> ok end.

idle(Process) ->
    process_info(Process, [message_queue_len, status]) =:= [{message_queue_len, 0}, {status, waiting}]
        orelse begin erlang:yield(), idle(Process) end.

%% References and process identifiers are numbers on the wire.
wire({request, _, Ref, Message}) -> {request, get(me), number(Ref), Message};
wire({Kind, Ref, Seq}) -> {Kind, number(Ref), Seq}.
local({request, From, Ref, Message}) when is_integer(From) -> {request, lists:nth(From + 2, get(all)), Ref, Message};
local({request, _, Ref, Message}) -> {request, lists:nth(get(me) + 2, get(all)), Ref, Message};
local({Kind, Number, Seq}) when is_tuple(Number) -> {Kind, case get(Number) of undefined -> Number; Ref -> Ref end, Seq};
local(OfItself) -> OfItself.
number(Ref) when is_reference(Ref) ->
    case get(Ref) of undefined -> Number = {get(me), put(refs, get(refs) + 1)}, put(Number, Ref), put(Ref, Number), Number; Number -> Number end;
number(Number) -> Number.
