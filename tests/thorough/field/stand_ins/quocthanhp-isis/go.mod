module node

go 1.19
