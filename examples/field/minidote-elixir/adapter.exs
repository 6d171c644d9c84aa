# Drives the GenServer CausalBroadcast of minidote: broadcast/2 on sending, {:remote, _} of the link layer on receiving.
defmodule LinkLayer do
  # In place of theirs: it hands packets to the adapter, as their tests intercept LinkLayer.send.
  def start_link(_group), do: {:ok, Process.whereis(:adapter)}
  def register(_link, _receiver), do: :ok
  def other_nodes(_link), do: {:ok, :persistent_term.get(:others)}

  def send(link, data, node, _name) do
    Kernel.send(link, {:transmit, node, data})
    :ok
  end
end

for file <- ["vector_clock.ex", "causal_broadcast.ex"], do: Code.require_file("lib/#{file}", hd(System.argv()))

defmodule Adapter do
  def main do
    Process.register(self(), :adapter)

    for line <- IO.stream(:stdio, :line) do
      input(String.split(line))
      :sys.get_state(:bcast)
      outputs()
      IO.write("ok\n")
    end
  end

  defp input(["init", me, n]) do
    if Process.whereis(:bcast), do: GenServer.stop(:bcast)
    :net_kernel.stop()
    {:ok, _} = :net_kernel.start(:"p#{me}", %{name_domain: :shortnames, dist_listen: false})
    [_, host] = String.split("#{node()}", "@")
    others = for k <- 0..(String.to_integer(n) - 1), "#{k}" != me, do: :"p#{k}@#{host}"
    :persistent_term.put(:others, others)
    {:ok, _} = CausalBroadcast.start_link(:bcast, owner: self(), name: :bcast)
  end

  defp input(["send", _, message]), do: CausalBroadcast.broadcast(:bcast, message)

  defp input(["packet", _, body]), do: send(:bcast, {:remote, :erlang.binary_to_term(Base.decode64!(body))})

  defp outputs do
    receive do
      {:transmit, node, data} ->
        body = data |> :erlang.term_to_binary([:deterministic]) |> Base.encode64()
        IO.write("packet #{Regex.run(~r/\d+/, "#{node}")} #{body}\n")
        outputs()

      {:deliver, message} ->
        IO.write("deliver #{message}\n")
        outputs()
    after
      0 -> :ok
    end
  end
end

Adapter.main()
