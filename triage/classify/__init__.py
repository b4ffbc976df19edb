"""Says who is wrong, why and where, from trials and claims; abstains where no mechanism has separated the two."""
