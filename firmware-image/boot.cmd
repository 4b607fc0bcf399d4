# Chooses the slot to boot, and falls back when it cannot be loaded. U-Boot runs this from partition 1.
# slot.env there says `active=a` or `b`, and `try=` the other one while an update is tried: once only, because `try` is
# cleared before the attempt. `fallback=` is the other one where it was confirmed and not written since: nothing else is started
# in place of an active slot that is broken. slot.bak is the copy that counts while slot.env is unreadable.
setexpr buffer ${scriptaddr} + 0x10000
setenv active; setenv try; setenv fallback
for file in slot.env slot.bak; do
  if test "${active}" != a && test "${active}" != b; then
    setenv active; setenv try; setenv fallback
    if load ${devtype} ${devnum}:1 ${buffer} ${file}; then env import -t -r ${buffer} ${filesize} active try fallback; fi
  fi
done
# Nothing is known about either slot.
if test "${active}" != a && test "${active}" != b; then setenv active a; setenv try; setenv fallback b; fi
setenv slot ${active}; setenv tried 0
if test "${try}" = a || test "${try}" = b; then
  setenv chosen ${try}; setenv try
  # A flag that cannot be cleared would be tried for ever.
  if env export -t ${buffer} active try fallback && fatwrite ${devtype} ${devnum}:1 ${buffer} slot.env ${filesize}; then
    setenv slot ${chosen}; setenv tried 1
  fi
fi
# The variable of a loop must have no namesake in the environment, which would win.
for candidate in ${slot} ${active} ${fallback}; do
  setenv slot ${candidate}
  if test "${slot}" = a; then setenv boot 2; else setenv boot 3; fi
  echo "hob: slot ${slot}, tried=${tried}"
  setenv bootargs "hob.slot=${slot} hob.tried=${tried} hob.active=${active} hob.board=@BOARD@ panic=5 loglevel=4 @CONSOLE@"
  setenv tree ${fdt_addr}
  if test -n "${fdtfile}" && load ${devtype} ${devnum}:${boot} ${fdt_addr_r} dtb/${fdtfile}; then setenv tree ${fdt_addr_r}; fi
  if load ${devtype} ${devnum}:${boot} ${kernel_addr_r} Image && load ${devtype} ${devnum}:${boot} ${ramdisk_addr_r} initrd.img; then
    booti ${kernel_addr_r} ${ramdisk_addr_r}:${filesize} ${tree}
  fi
  setenv tried 0
done
reset
