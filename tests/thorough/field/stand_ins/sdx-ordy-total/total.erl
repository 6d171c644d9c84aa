%% A stand-in with the interface of Ordy's total order multicast, and a bug: it delivers in the order of the agreements.
-module(total).
-export([start/3]).

start(Id, Master, Jitter) ->
    spawn(fun() -> receive {peers, Peers} -> node(Id, Master, 1, Peers, #{}, #{}, Jitter) end end).

%% `Asked` has the proposals that are still to come for each own message, `Held` the messages that are not agreed on.
node(Id, Master, Next, Peers, Asked, Held, Jitter) ->
    receive
        {send, Message} ->
            Ref = make_ref(),
            [timer:send_after(Jitter, P, {request, self(), Ref, Message}) || P <- Peers],
            node(Id, Master, Next, Peers, Asked#{Ref => length(Peers)}, Held, Jitter);
        {request, From, Ref, Message} ->
            timer:send_after(Jitter, From, {proposal, Ref, {Next, Id}}),
            node(Id, Master, Next + 1, Peers, Asked, Held#{Ref => Message}, Jitter);
        {proposal, Ref, Seq} ->
            maps:get(Ref, Asked) =:= 1 andalso [P ! {agreed, Ref, Seq} || P <- Peers],
            node(Id, Master, Next, Peers, Asked#{Ref := maps:get(Ref, Asked) - 1}, Held, Jitter);
        {agreed, Ref, _} ->
            Master ! {deliver, maps:get(Ref, Held)},
            node(Id, Master, Next, Peers, Asked, maps:remove(Ref, Held), Jitter)
    end.
