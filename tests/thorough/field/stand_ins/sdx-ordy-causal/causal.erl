%% A stand-in with the interface of Ordy's causal multicast.
-module(causal).
-export([start/3]).

start(Id, Master, 0) ->
    spawn(fun() -> receive {peers, Peers} -> node(Id, Master, Peers, #{}, []) end end).

node(Id, Master, Peers, Clock, Held) ->
    receive
        {send, Message} ->
            Stamp = counted(Id, Clock),
            [Peer ! {multicast, Message, Id, Stamp} || Peer <- Peers, Peer =/= self()],
            Master ! {deliver, Message},
            node(Id, Master, Peers, Stamp, Held);
        {multicast, Message, From, Stamp} ->
            {Clock1, Held1} = release(Master, Clock, [{Message, From, Stamp} | Held]),
            node(Id, Master, Peers, Clock1, Held1)
    end.

release(Master, Clock, Held) ->
    case [H || {_, From, Stamp} = H <- Held, ready(maps:to_list(Stamp), counted(From, Clock))] of
        [{Message, From, _} = First | _] ->
            Master ! {deliver, Message},
            release(Master, counted(From, Clock), Held -- [First]);
        [] ->
            {Clock, Held}
    end.

ready(Stamp, Clock) -> lists:all(fun({P, K}) -> K =< maps:get(P, Clock, 0) end, Stamp).
counted(P, Clock) -> maps:update_with(P, fun(K) -> K + 1 end, 1, Clock).
