package EagerReliableBroadcast

import . "SD/BEB"

type EagerReliableBroadcast_Module struct{ Beb *BestEffortBroadcast_Module }
