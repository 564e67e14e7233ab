"""Ways to tell which intent a text is for, one file each; `router.strategies` names them in the order of asking."""
