%% A stand-in with the interface of toty, and a bug: a manager gives messages to its worker in the order of the agreements.
-module(toty).
-export([init/2, server/7]).

init(Id, _Jitter) ->
    spawn(fun() -> receive {start, Worker, Managers, Show} -> server(Worker, {0, Id}, Managers, #{}, #{}, 1, Show) end end).

%% `Asked` has the proposals that are still to come for each own message, `Held` the messages that are not agreed on.
server(Worker, {Next, Id}, Managers, Asked, Held, Jitter, Show) ->
    receive
        {send, Message} ->
            Ref = make_ref(),
            [M ! {request, self(), Ref, Message} || M <- Managers],
            server(Worker, {Next, Id}, Managers, Asked#{Ref => length(Managers)}, Held, Jitter, Show);
        {request, From, Ref, Message} ->
            From ! {proposal, Ref, {Next, Id}},
            server(Worker, {Next + 1, Id}, Managers, Asked, Held#{Ref => Message}, Jitter, Show);
        {proposal, Ref, Seq} ->
            maps:get(Ref, Asked) =:= 1 andalso [M ! {agreed, Ref, Seq} || M <- Managers],
            server(Worker, {Next, Id}, Managers, Asked#{Ref := maps:get(Ref, Asked) - 1}, Held, Jitter, Show);
        {agreed, Ref, _} ->
            {Text, N} = maps:get(Ref, Held),
            Worker ! {Text, N, Show},
            server(Worker, {Next, Id}, Managers, Asked, maps:remove(Ref, Held), Jitter, Show)
    end.
