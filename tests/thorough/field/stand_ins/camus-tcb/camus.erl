%% A stand-in with the interface of camus: the application keeps a vector clock.
-module(camus).
-export([cbcast/2, handle/2, setmembership/1, setnotifyfun/1]).

cbcast(Message, {{Node, Number}, Clock}) ->
    Stamp = Clock#{Node => Number + 1},
    gen_server:call(camus_middleware, {cbcast, Message, Node, Stamp}),
    {{Node, Number + 1}, Stamp}.

handle({deliver, Message, {From, Stamp} = Tag}, {Dot, Clock}) ->
    {deliver, {Message, Tag}, {Dot, Clock#{From => maps:get(From, Stamp)}}}.

setmembership(Nodes) -> gen_server:call(camus_middleware, {nodes, Nodes}).
setnotifyfun(Fun) -> gen_server:call(camus_middleware, {notify, Fun}).
