%% A stand-in: the name of a connection.
-module(camus_util).
-export([connection_name/1]).

connection_name(Node) -> list_to_atom(atom_to_list(Node) ++ "_1").
