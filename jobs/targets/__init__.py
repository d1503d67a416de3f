"""What a job may call: targets, their addresses and headers, and what is wrong with them.

Calling one is runs/targets/.
"""
