"""The dialect of Azure Resource Manager, as its SDK and command line speak it."""
