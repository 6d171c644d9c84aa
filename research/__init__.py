"""Research on the five papers: claims, theorems, variants, design spaces, discovered invariants, and costs."""
