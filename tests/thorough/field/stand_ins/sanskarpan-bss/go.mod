module github.com/DistributedClocks/vectorclock-system

go 1.19
