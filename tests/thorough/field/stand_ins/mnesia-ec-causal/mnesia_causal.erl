%% A stand-in with the interface of mnesia_causal, and a bug: what is released comes before the message that releases it.
-module(mnesia_causal).
-behaviour(gen_server).
-export([start/0, reset_with_nodes/1, send_msg/0, deliver_one/1, rcv_msg/4]).
-export([init/1, handle_call/3, handle_cast/2]).
-include("mnesia.hrl").

start() -> gen_server:start({local, ?MODULE}, ?MODULE, [], []).
reset_with_nodes(Nodes) -> gen_server:call(?MODULE, {reset, Nodes}).
send_msg() -> gen_server:call(?MODULE, send).
deliver_one(#commit{ts = {From, _}}) -> gen_server:cast(?MODULE, {delivered, From}).
rcv_msg(Tid, Commit, Tab, {async, To}) -> gen_server:call(?MODULE, {received, {Tid, Commit, Tab}, To}).

init(_) -> {ok, {#{}, []}}.

handle_call({reset, Nodes}, _, _) ->
    {reply, ok, {maps:from_keys(Nodes, 0), []}};
handle_call(send, _, {Clock, _} = State) ->
    {reply, {node(), maps:update_with(node(), fun(K) -> K + 1 end, Clock)}, State};
handle_call({received, Received, To}, _, {Clock, Held}) ->
    {Released, State} = release(Clock, [Received | Held], []),
    To ! {?MODULE, {deliver, Released}},
    {reply, ok, State}.

handle_cast({delivered, From}, {Clock, Held}) ->
    {noreply, {maps:update_with(From, fun(K) -> K + 1 end, Clock), Held}}.

release(Clock, Held, Released) ->
    case [R || {_, #commit{ts = {From, Ts}}, _} = R <- Held, ready(From, Ts, Clock)] of
        [{_, #commit{ts = {From, _}}, _} = R | _] ->
            release(maps:update_with(From, fun(K) -> K + 1 end, Clock), Held -- [R], [R | Released]);
        [] ->
            {Released, {Clock, Held}}
    end.

ready(From, Ts, Clock) ->
    lists:all(fun({P, K}) -> K - maps:get(P, Clock) =< if P =:= From -> 1; true -> 0 end end, maps:to_list(Ts)).
