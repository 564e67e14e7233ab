"""Who may do what. It decides on rights alone; who somebody is has been proven before."""
