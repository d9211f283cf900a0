"""Client of a server, over REST or gRPC, without TensorFlow."""
