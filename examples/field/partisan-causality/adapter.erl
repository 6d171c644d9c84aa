%% Drives the gen_server partisan_causality_backend of Partisan: emit/4 on sending, receive_message/2 on receiving.
-module(adapter).
-export([start/0]).

-define(LABEL, field).
-define(SERVER, partisan_causality_backend_field).

start() ->
    io:setopts([binary, {encoding, latin1}]),
    loop().

loop() ->
    case io:get_line("") of
        eof ->
            halt();
        Line ->
            answer(binary:split(string:trim(Line), <<" ">>, [global])),
            io:put_chars("ok\n"),
            loop()
    end.

answer([<<"init">>, Me, _]) ->
    whereis(?SERVER) =/= undefined andalso gen_server:stop(?SERVER),
    partisan_config:set(name, binary_to_atom(Me)),
    partisan_config:set(redelivery_interval, 1000000000),
    {ok, _} = partisan_causality_backend:start_link(?LABEL),
    Self = self(),
    partisan_causality_backend:set_delivery_fun(?LABEL, fun(app, Message) -> Self ! {delivered, Message} end);
answer([<<"send">>, To, Message]) ->
    {ok, _, Packet} = partisan_causality_backend:emit(?LABEL, binary_to_atom(To), app, Message),
    io:put_chars(["packet ", To, " ", base64:encode(term_to_binary(Packet)), "\n"]);
answer([<<"packet">>, _, Body]) ->
    ok = partisan_causality_backend:receive_message(?LABEL, binary_to_term(base64:decode(Body))),
    deliveries(true).

%% Their timer tries held messages again, for ever: it expires until it delivers no more.
deliveries(Again) ->
    receive
        {delivered, Message} ->
            io:put_chars(["deliver ", Message, "\n"]),
            deliveries(true)
    after 0 ->
        Again andalso begin
            ?SERVER ! deliver,
            sys:get_state(?SERVER),
            deliveries(false)
        end
    end.
