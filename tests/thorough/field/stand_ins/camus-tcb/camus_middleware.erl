%% A stand-in with the interface of camus_middleware: causal broadcast.
-module(camus_middleware).
-behaviour(gen_server).
-export([start_link/0, init/1, handle_call/3, handle_cast/2]).

start_link() -> gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).
init([]) -> {ok, #{clock => #{}, held => []}}.

handle_call({nodes, Nodes}, _, State) -> {reply, ok, State#{nodes => Nodes}};
handle_call({notify, Fun}, _, State) -> {reply, ok, State#{notify => Fun}};
handle_call({cbcast, Message, Me, Stamp}, _, #{nodes := Nodes, clock := Clock} = State) ->
    Cast = {forward_message, ?MODULE, {Message, Me, Stamp}, 0},
    [gen_server:cast(camus_util:connection_name(Node), Cast) || Node <- Nodes, Node =/= Me],
    {reply, ok, State#{clock := counted(Me, Clock)}}.

handle_cast(Packet, #{held := Held} = State) -> {noreply, release(State#{held := [Packet | Held]})}.

release(#{held := Held, clock := Clock, notify := Notify} = State) ->
    case [P || {_, From, Stamp} = P <- Held, ready(maps:to_list(Stamp), counted(From, Clock))] of
        [{Message, From, Stamp} = First | _] ->
            Notify({camus, {deliver, Message, {From, Stamp}}}),
            release(State#{held := Held -- [First], clock := counted(From, Clock)});
        [] ->
            State
    end.

ready(Stamp, Clock) -> lists:all(fun({P, K}) -> K =< maps:get(P, Clock, 0) end, Stamp).
counted(P, Clock) -> maps:update_with(P, fun(K) -> K + 1 end, 1, Clock).
