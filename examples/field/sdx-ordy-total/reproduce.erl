#!/usr/bin/env escript
%% Two of their processes, and this program between them: escript reproduce.erl FOLDER_OF_THEIR_BEAM_FILES
%% Process 1 receives the proposals of process 2 for m1 and m2 in the other order, as their random delays allow.

main([Folder]) ->
    code:add_patha(Folder),
    Self = self(),
    put(gates, [forwarder({to, Id}, Self) || Id <- [1, 2]]),
    put(processes, [total:start(Id, forwarder({worker, Id}, Self), 1) || Id <- [1, 2]]),
    [P ! {peers, get(gates)} || P <- get(processes)],
    send(m1, 1), request(m1, 1), proposal(m1, 1, 1), request(m1, 2),
    send(m2, 1), request(m2, 1), proposal(m2, 1, 1),
    send(m3, 2), request(m3, 2), proposal(m3, 2, 2), request(m2, 2),
    proposal(m2, 2, 1), agreed(m2, 1), agreed(m2, 2),
    proposal(m1, 2, 1), agreed(m1, 1), agreed(m1, 2),
    request(m3, 1), proposal(m3, 1, 2), agreed(m3, 1), agreed(m3, 2),
    Given = [[receive {{worker, Id}, {deliver, M}} -> M end || _ <- [m1, m2, m3]] || Id <- [1, 2]],
    io:format("worker 1 is given ~p, worker 2 ~p~n", Given).

%% A process that passes on to this program what it is sent.
forwarder(Name, Self) -> spawn(fun() -> forward(Name, Self) end).
forward(Name, Self) -> receive Message -> Self ! {Name, Message} end, forward(Name, Self).

%% Let one message through to process To, which then has the time to handle it.
send(M, To) -> through({send, M}, To).
request(M, To) ->
    receive
        {{to, To}, {request, From, Ref, M}} ->
            put(M, Ref),
            Sender = length(lists:takewhile(fun(P) -> P =/= From end, get(processes))) + 1,
            through({request, lists:nth(Sender, get(gates)), Ref, M}, To)
    end.
proposal(M, From, To) ->
    Ref = get(M),
    receive {{to, To}, {proposal, Ref, {_, From}} = Message} -> through(Message, To) end.
agreed(M, To) ->
    Ref = get(M),
    receive {{to, To}, {agreed, Ref, _} = Message} -> through(Message, To) end.
through(Message, To) -> lists:nth(To, get(processes)) ! Message, timer:sleep(20).
