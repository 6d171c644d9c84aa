"""Proofs beyond any bound: z3 runs the protocols' own code, for every number of processes."""

import z3

# Python collects garbage in whichever thread triggers it, and threads watch for signals and limits here. z3 objects are
# then freed while z3 works, which crashes it unless it is prepared.
z3.Z3_enable_concurrent_dec_ref(z3.main_ctx().ref())
# By default z3 swallows Ctrl-C during a query.
z3.set_param("ctrl_c", False)
