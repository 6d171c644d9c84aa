-- A stand-in: a message.
module CBCAST.Core (Message (..)) where

data Message r = Message {mVC :: [Int], mSender :: Int, mRaw :: r}
