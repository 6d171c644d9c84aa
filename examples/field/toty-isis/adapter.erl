%% Drives the manager that `toty:init/2` spawns, by {send, _} of its worker and {request, …}, {proposal, …}, {agreed, …} of managers.
-module(adapter).
-export([start/0]).

start() ->
    io:setopts([binary]),
    loop().

loop() ->
    case io:get_line("") of
        eof -> halt();
        Line -> answer(binary:split(string:trim(Line), <<" ">>, [global])), io:put_chars("ok\n"), loop()
    end.

%% This process is the worker. For each manager, a process passes what the manager under test sends on to this one.
answer([<<"init">>, Me, N]) ->
    [exit(P, kill) || Ps <- [get(all)], is_list(Ps), P <- Ps],
    erase(),
    Self = self(),
    Peers = [spawn(fun() -> pass_on(K, Self) end) || K <- lists:seq(0, binary_to_integer(N) - 1)],
    Manager = toty:init(binary_to_integer(Me) + 1, 1),
    [put(Key, Value) || {Key, Value} <- [{all, [Manager | Peers]}, {me, binary_to_integer(Me)}, {refs, 0}]],
    Manager ! {start, Self, Peers, show};
answer([<<"send">>, _, Message]) -> input({send, {Message, 0}});
answer([<<"packet">>, _, Body]) -> input(local(binary_to_term(base64:decode(Body)))).

pass_on(K, Self) ->
    receive {barrier, From} -> From ! done; Message -> Self ! {transmit, K, Message} end,
    pass_on(K, Self).

input(Message) ->
    [Manager | Peers] = get(all),
    Manager ! Message,
    idle(Manager),
    [begin P ! {barrier, self()}, receive done -> ok end end || P <- Peers],
    Sent = transmitted(),
    [io:put_chars(["packet ", integer_to_list(K), " ", base64:encode(term_to_binary(wire(M))), "\n"]) || {K, M} <- Sent, K =/= get(me)],
    deliveries(),
    [input(local(M)) || {K, M} <- Sent, K =:= get(me)].

transmitted() -> lists:keysort(1, transmitted([])).
transmitted(Sent) -> receive {transmit, K, Message} -> transmitted(Sent ++ [{K, Message}]) after 0 -> Sent end.
deliveries() -> receive {Message, 0, show} -> io:put_chars(["deliver ", Message, "\n"]), deliveries() after 0 -> ok end.

idle(Manager) ->
    process_info(Manager, [message_queue_len, current_function]) =:= [{message_queue_len, 0}, {current_function, {toty, server, 7}}]
        andalso process_info(Manager, status) =:= {status, waiting} orelse begin erlang:yield(), idle(Manager) end.

%% References and process identifiers are numbers on the wire.
wire({request, _, Ref, Message}) -> {request, get(me), number(Ref), Message};
wire({Kind, Ref, Seq}) -> {Kind, number(Ref), Seq}.
local({request, From, Ref, Message}) -> {request, lists:nth(2 + if is_integer(From) -> From; true -> get(me) end, get(all)), Ref, Message};
local({Kind, Number, Seq}) when is_tuple(Number) -> {Kind, case get(Number) of undefined -> Number; Ref -> Ref end, Seq};
local(OfItself) -> OfItself.
number(Ref) when is_reference(Ref) ->
    case get(Ref) of undefined -> Number = {get(me), put(refs, get(refs) + 1)}, put(Number, Ref), put(Ref, Number), Number; Number -> Number end;
number(Number) -> Number.
