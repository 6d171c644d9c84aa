module dist

go 1.19
