# A stand-in with the interface of P2PDocs' causal broadcast.
defmodule P2PDocs.Network.CausalBroadcast do
  use GenServer

  def start_link(opts), do: GenServer.start_link(__MODULE__, opts, name: __MODULE__)
  def broadcast(message), do: GenServer.cast(__MODULE__, {:broadcast, message})

  def init(opts), do: {:ok, {opts[:my_id], %{}, []}}

  def handle_cast({:broadcast, message}, {me, clock, held}) do
    clock = counted(me, clock)
    GenServer.cast(P2PDocs.Network.EchoWave, {:start, {message, me, clock}})
    {:noreply, {me, clock, held}}
  end

  def handle_cast({_, _, _} = message, {me, clock, held}) do
    {clock, held} = release(clock, [message | held])
    {:noreply, {me, clock, held}}
  end

  defp release(clock, held) do
    case Enum.find(held, fn {_, from, stamp} -> ready?(stamp, counted(from, clock)) end) do
      nil ->
        {clock, held}

      {text, from, _} = message ->
        Application.get_env(:p2p_docs, :crdt_manager)[:module].receive_msg(text)
        release(counted(from, clock), List.delete(held, message))
    end
  end

  defp ready?(stamp, clock), do: Enum.all?(stamp, fn {node, k} -> k <= Map.get(clock, node, 0) end)
  defp counted(node, clock), do: Map.update(clock, node, 1, &(&1 + 1))
end
