-- A stand-in with the interface of cbcast-lh: causal broadcast.
module CBCAST (Process, broadcast, deliver, mRaw, mSender, mVC, newProcess, receive) where

import CBCAST.Core (Message (..))

-- A process: itself, how many messages of each process it has delivered, and those that it holds back.
data Process r = Process Int [Int] [Message r]

newProcess :: Int -> Int -> Either String (Process r)
newProcess n me = Right $ Process me (replicate n 0) []

broadcast :: r -> Process r -> (Message r, Process r)
broadcast raw (Process me clock held) = (Message clock' me raw, Process me clock' held)
  where
    clock' = counted me clock

receive :: Message r -> Process r -> Either String (Process r)
receive message (Process me clock held) = Right $ Process me clock (message : held)

deliver :: Process r -> (Maybe (Message r), Process r)
deliver process@(Process me clock held) = case break ready held of
    (before, message : after) -> (Just message, Process me (counted (mSender message) clock) (before ++ after))
    _ -> (Nothing, process)
  where
    ready (Message stamp sender _) = and $ zipWith (<=) stamp (counted sender clock)

counted :: Int -> [Int] -> [Int]
counted process clock = [if k == process then c + 1 else c | (k, c) <- zip [0 ..] clock]
