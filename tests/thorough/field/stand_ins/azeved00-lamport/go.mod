module p2p

go 1.19
