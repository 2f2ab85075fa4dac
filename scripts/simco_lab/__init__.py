"""The WAN laboratory: experiments on SIMCO's transports, run on real kernels. See doc/lab.md."""
