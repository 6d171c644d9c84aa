"""Proofs beyond any bound: z3 runs the protocols' own code, for every number of processes."""

import z3

# Python collects garbage in whatever thread it comes to that, and some here watch over signals and limits: what z3 made
# is then taken down while it works, which breaks it unless it is prepared for that.
z3.Z3_enable_concurrent_dec_ref(z3.main_ctx().ref())
# By itself z3 takes Ctrl-C during a query, and reports nothing.
z3.set_param("ctrl_c", False)
