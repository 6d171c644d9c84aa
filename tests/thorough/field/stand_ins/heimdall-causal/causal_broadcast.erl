%% A stand-in with the interface of Heimdall's causal broadcast: two relays below it, and no forwarding.
-module(causal_broadcast).
-behaviour(gen_server).
-export([start_link/3, broadcast/2, init/1, handle_call/3, handle_cast/2, handle_info/2]).

start_link(Link, Name, To) -> gen_server:start_link(?MODULE, {causal, Link, Name, To}, []).
broadcast(Causal, Message) -> gen_server:call(Causal, {broadcast, Message}).

init({causal, Link, Name, To}) ->
    {ok, Relay} = gen_server:start_link(?MODULE, {relay, self()}, []),
    {ok, Lowest} = gen_server:start_link(?MODULE, {relay, Relay}, []),
    ok = gen_server:call(Relay, {below, Lowest}),
    ok = gen_server:call(Link, {register, Name, Lowest}),
    {ok, {causal, Relay, Lowest, Link, Name, To, #{}, []}};
init({relay, To}) -> {ok, {relay, none, To}}.

handle_call({below, Lower}, _, {relay, none, To}) -> {reply, ok, {relay, Lower, To}};
handle_call({broadcast, Message}, _, {causal, Relay, Lowest, Link, Name, To, Clock, Held}) ->
    Stamp = counted(Name, Clock),
    {ok, Nodes} = gen_server:call(Link, all_nodes),
    [gen_server:call(Link, {send, {deliver, {Name, Stamp, Message}}, self(), Node}) || Node <- Nodes, Node =/= Lowest],
    To ! {deliver, Message},
    {reply, ok, {causal, Relay, Lowest, Link, Name, To, Stamp, Held}}.

handle_cast(_, State) -> {noreply, State}.

handle_info(Packet, {relay, _, To} = State) -> To ! Packet, {noreply, State};
handle_info({deliver, Packet}, {causal, Relay, Lowest, Link, Name, To, Clock, Held}) ->
    {Clock1, Held1} = release(To, Clock, [Packet | Held]),
    {noreply, {causal, Relay, Lowest, Link, Name, To, Clock1, Held1}}.

release(To, Clock, Held) ->
    case [H || {From, Stamp, _} = H <- Held, ready(maps:to_list(Stamp), counted(From, Clock))] of
        [{From, _, Message} = First | _] -> To ! {deliver, Message}, release(To, counted(From, Clock), Held -- [First]);
        [] -> {Clock, Held}
    end.
ready(Stamp, Clock) -> lists:all(fun({P, K}) -> K =< maps:get(P, Clock, 0) end, Stamp).
counted(P, Clock) -> maps:update_with(P, fun(K) -> K + 1 end, 1, Clock).
