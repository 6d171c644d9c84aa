# A stand-in with the interface of P2PDocs' echo wave: all nodes are neighbours, and a token is sent to each once.
defmodule P2PDocs.Network.EchoWave do
  use GenServer

  def start_link(state), do: GenServer.start_link(__MODULE__, state, name: __MODULE__)
  def init(state), do: {:ok, state}

  def handle_cast({:start, message}, {me, neighbors} = state) do
    transport = Application.get_env(:p2p_docs, :reliable_transport)[:module]
    for to <- neighbors, do: transport.send(me, to, __MODULE__, {:token, message})
    {:noreply, state}
  end

  def handle_cast({:token, message}, state) do
    GenServer.cast(P2PDocs.Network.CausalBroadcast, message)
    {:noreply, state}
  end
end
