#!/usr/bin/env escript
%% One gen_server of Partisan's plays three processes, one after the other: escript reproduce.erl FOLDER_OF_THEIR_BEAM_FILES
%% p1 sends m1 to p2, then m2 to p3; p3 receives m2 and sends m3 to p2; p2 receives m3 and only then m1.

main([Folder]) ->
    code:add_patha(Folder),
    partisan_config:set(redelivery_interval, 1000000),
    {[_M1, M2], _} = at(p1, fun() -> [emit(p2, m1), emit(p3, m2)] end),
    {M3, [m2]} = at(p3, fun() -> receive_message(M2), emit(p2, m3) end),
    {_, Delivered} = at(p2, fun() -> receive_message(M3) end),
    io:format("p2, which has not received m1, delivers ~p~n", [Delivered]).

emit(To, Message) ->
    {ok, _, Packet} = partisan_causality_backend:emit(label, To, app, Message),
    Packet.

receive_message(Packet) -> ok = partisan_causality_backend:receive_message(label, Packet).

%% The outcome of some steps at a new process, and what it delivers.
at(Node, Steps) ->
    partisan_config:set(name, Node),
    {ok, Server} = partisan_causality_backend:start_link(label),
    Self = self(),
    partisan_causality_backend:set_delivery_fun(label, fun(app, Message) -> Self ! {delivered, Message} end),
    Outcome = Steps(),
    gen_server:stop(Server),
    {Outcome, delivered()}.

delivered() ->
    receive {delivered, Message} -> [Message | delivered()] after 0 -> [] end.
