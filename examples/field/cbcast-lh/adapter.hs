-- Drives module CBCAST of cbcast-lh: broadcast on sending, receive on receiving, and deliver until it delivers nothing.
module Main (main) where

import CBCAST (Process, broadcast, deliver, mRaw, mSender, mVC, newProcess, receive)
import CBCAST.Core (Message (Message))
import System.IO (BufferMode (LineBuffering), hSetBuffering, isEOF, stdout)

-- `replies` are messages that the application sends from inside the next deliveries.
data Node = Node {others :: [Int], replies :: [String], process :: Process String}

main :: IO ()
main = hSetBuffering stdout LineBuffering >> next undefined
  where
    next node = do
        end <- isEOF
        if end then return () else getLine >>= input node . words >>= next

input :: Node -> [String] -> IO Node
input _ ["init", me, n] = do
    putStrLn "ok replies"
    return $ Node (filter (/= read me) [0 .. read n - 1]) [] (right $ newProcess (read n) (read me))
input node ["reply", _, text] = return node {replies = replies node ++ [text]}
input node line = do
    node' <- case line of
        ["send", _, text] -> send node text
        ["packet", _, clock, sender, text] ->
            deliveries node {process = right $ receive (Message (read clock) (read sender) text) (process node)}
        _ -> error $ unwords line
    putStrLn "ok"
    return node'

-- A process delivers its own message at once, as the documentation of broadcast asks.
send :: Node -> String -> IO Node
send node text = do
    let (message, p) = broadcast text (process node)
    mapM_ (\k -> putStrLn $ unwords ["packet", show k, show (mVC message), show (mSender message), text]) (others node)
    handOver node {process = p} text

deliveries :: Node -> IO Node
deliveries node = case deliver (process node) of
    (Just message, p) -> handOver node {process = p} (mRaw message) >>= deliveries
    (Nothing, p) -> return node {process = p}

handOver :: Node -> String -> IO Node
handOver node text = do
    putStrLn $ "deliver " ++ text
    case replies node of
        first : rest -> send node {replies = rest} first
        [] -> return node

right :: Either String a -> a
right = either error id
