# Drives the GenServers CausalBroadcast and EchoWave of P2PDocs: broadcast/1 on sending, a token of the wave on receiving.
defmodule Wire do
  # In place of their ReliableTransport and their CRDT manager, as their configuration and their tests allow.
  def send(_from, to, _module, token), do: Kernel.send(:adapter, {:transmit, to, token})
  def receive_msg(message), do: Kernel.send(:adapter, {:deliver, message})
end

:logger.set_primary_config(:level, :none)
lib = Path.join(hd(System.argv()), "p2p_docs_backend/lib/p2p_docs")

for file <- ~w(utils/callbacks network/vector_clock/naive_vector_clock network/causal_broadcast/causal_broadcast
               network/echo_wave/echo_wave),
    do: Code.require_file("#{file}.ex", lib)

defmodule Adapter do
  alias P2PDocs.Network.{CausalBroadcast, EchoWave}

  def main do
    Process.register(self(), :adapter)
    for table <- [:causal_broadcast_state, :echo_wave_state], do: :ets.new(table, [:named_table, :public])

    for {key, module} <- [causal_broadcast: CausalBroadcast, echo_wave: EchoWave, reliable_transport: Wire, crdt_manager: Wire],
        do: Application.put_env(:p2p_docs, key, module: module)

    for line <- IO.stream(:stdio, :line) do
      input(String.split(line))
      # each of the two has handled what the other one cast to it
      for server <- [CausalBroadcast, EchoWave, EchoWave, CausalBroadcast], do: :sys.get_state(server)
      outputs()
      IO.write("ok\n")
    end
  end

  defp input(["init", me, n]) do
    for server <- [CausalBroadcast, EchoWave], Process.whereis(server), do: GenServer.stop(server)
    for table <- [:causal_broadcast_state, :echo_wave_state], do: :ets.delete_all_objects(table)
    {:ok, _} = CausalBroadcast.start_link(my_id: :"#{me}")
    {:ok, _} = EchoWave.start_link({:"#{me}", for(k <- 0..(String.to_integer(n) - 1), "#{k}" != me, do: :"#{k}")})
  end

  defp input(["send", _, message]), do: CausalBroadcast.broadcast(message)
  defp input(["packet", _, body]), do: GenServer.cast(EchoWave, :erlang.binary_to_term(Base.decode64!(body)))

  defp outputs do
    receive do
      {:transmit, to, token} -> IO.write("packet #{to} #{Base.encode64(:erlang.term_to_binary(token, [:deterministic]))}\n")
      {:deliver, message} -> IO.write("deliver #{message}\n")
    after
      0 -> :done
    end != :done && outputs()
  end
end

Adapter.main()
