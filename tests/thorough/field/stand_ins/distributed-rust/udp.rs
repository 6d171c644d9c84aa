//! Stands in for the payloads of distributed-rust.
#[derive(Clone)] pub struct OwnerID(pub u32);
#[derive(Clone, Copy)] pub struct SenderID(pub u32);
#[derive(Clone)] pub struct PacketID(pub u32);
#[derive(Clone)] pub enum PayloadKind { Lcb }
#[derive(Clone)] pub struct Payload {
    pub owner_id: OwnerID, pub sender_id: SenderID, pub packet_uid: PacketID, pub kind: PayloadKind,
    pub is_ack: bool, pub vector_clock: Vec<u32>, pub buffer: Vec<u8>,
}
