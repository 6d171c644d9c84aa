module SD

go 1.19
