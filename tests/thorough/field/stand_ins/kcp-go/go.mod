module kcp

go 1.19
