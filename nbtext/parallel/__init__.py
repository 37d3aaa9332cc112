"""Work in several processes. `pool` is the only module that knows which library starts them."""
