package BestEffortBroadcast

type BestEffortBroadcast_Req_Message struct{ Message string }

type BestEffortBroadcast_Module struct {
	Req chan BestEffortBroadcast_Req_Message
}
