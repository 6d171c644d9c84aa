# A stand-in with the interface of minidote's causal broadcast.
defmodule CausalBroadcast do
  use GenServer

  def start_link(name, opts), do: GenServer.start_link(__MODULE__, opts, name: name)
  def broadcast(name, message), do: GenServer.cast(name, {:broadcast, message})

  def init(opts) do
    {:ok, link} = LinkLayer.start_link(opts[:name])
    :ok = LinkLayer.register(link, self())
    {:ok, %{link: link, owner: opts[:owner], name: opts[:name], clock: %{}, held: []}}
  end

  def handle_cast({:broadcast, message}, state) do
    clock = counted(node(), state.clock)
    {:ok, nodes} = LinkLayer.other_nodes(state.link)
    for to <- nodes, do: LinkLayer.send(state.link, {message, clock, node()}, to, state.name)
    {:noreply, %{state | clock: clock}}
  end

  def handle_info({:remote, packet}, state), do: {:noreply, release(%{state | held: [packet | state.held]})}

  defp release(state) do
    case Enum.find(state.held, fn {_, stamp, from} -> ready?(stamp, counted(from, state.clock)) end) do
      nil ->
        state

      {message, _, from} = packet ->
        send(state.owner, {:deliver, message})
        release(%{state | clock: counted(from, state.clock), held: List.delete(state.held, packet)})
    end
  end

  defp ready?(stamp, clock), do: Enum.all?(stamp, fn {node, k} -> k <= Map.get(clock, node, 0) end)
  defp counted(node, clock), do: Map.update(clock, node, 1, &(&1 + 1))
end
