%% A stand-in: the dot of a node.
-module(dot).
-export([new_dot/1]).

new_dot(Node) -> {Node, 0}.
