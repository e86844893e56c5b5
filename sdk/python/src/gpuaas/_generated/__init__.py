"""Generated from the contract; a change made here is lost. @generated"""

VERSION = "0.1.0"
