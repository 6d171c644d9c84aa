%% A stand-in: the configuration as persistent terms.
-module(partisan_config).
-export([get/1, set/2]).

get(Key) -> persistent_term:get({?MODULE, Key}).
set(Key, Value) -> persistent_term:put({?MODULE, Key}, Value).
