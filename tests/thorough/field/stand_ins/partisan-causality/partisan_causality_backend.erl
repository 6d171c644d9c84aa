%% A stand-in with the interface of Partisan's causality backend. It numbers the messages on each link: FIFO, not causal.
-module(partisan_causality_backend).
-behaviour(gen_server).
-export([start_link/1, emit/4, receive_message/2, set_delivery_fun/2]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

start_link(Label) -> gen_server:start_link({local, name(Label)}, ?MODULE, [], []).
emit(Label, Node, Ref, Message) -> gen_server:call(name(Label), {emit, Node, Ref, Message}).
receive_message(Label, Packet) -> gen_server:call(name(Label), {packet, Packet}).
set_delivery_fun(Label, Fun) -> gen_server:call(name(Label), {deliver_by, Fun}).

name(Label) -> list_to_atom("partisan_causality_backend_" ++ atom_to_list(Label)).

init([]) -> {ok, #{me => partisan_config:get(name), sent => #{}, next => #{}, held => []}}.

handle_call({deliver_by, Fun}, _, State) ->
    {reply, ok, State#{by => Fun}};
handle_call({emit, To, Ref, Message}, _, #{me := Me, sent := Sent} = State) ->
    Number = maps:get(To, Sent, 0),
    {reply, {ok, Number, {Me, Number, Ref, Message}}, State#{sent := Sent#{To => Number + 1}}};
handle_call({packet, Packet}, _, #{held := Held} = State) ->
    {reply, ok, release(State#{held := [Packet | Held]})}.

handle_cast(_, State) -> {noreply, State}.
handle_info(deliver, State) -> {noreply, State}.

release(#{held := Held, next := Next, by := By} = State) ->
    case [P || {From, Number, _, _} = P <- Held, Number =:= maps:get(From, Next, 0)] of
        [{From, Number, Ref, Message} = Packet | _] ->
            By(Ref, Message),
            release(State#{held := Held -- [Packet], next := Next#{From => Number + 1}});
        [] ->
            State
    end.
